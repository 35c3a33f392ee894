// Command training-operator is Kubeflow's training operator with the controller of PyTorchJobs alone, and without webhooks, whose
// certificates it takes from a folder that cannot be chosen.
package main

import (
	"flag"
	"log"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	flag.Parse()
	ctrl.SetLogger(zap.New())
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	if err := kubeflow.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	if err := pytorch.NewReconciler(mgr, common.GenNonGangSchedulerSetupFunc()).SetupWithManager(mgr, 1); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
