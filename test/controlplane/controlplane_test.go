package controlplane_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rankwright/rankwright/test/controlplane"
)

func clientset(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func whoAmI(t *testing.T, config *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	review, err := clientset(t, config).AuthenticationV1().SelfSubjectReviews().
		Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo
}

func TestControlPlane(t *testing.T) {
	var log bytes.Buffer
	c := controlplane.ForTest(t, controlplane.Options{Scheduler: true, ControllerManager: true, Log: &log})
	admin := clientset(t, c.Config())

	t.Run("the administrator's kubeconfig works", func(t *testing.T) {
		config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		if got := whoAmI(t, config).Username; got != "rankwright-admin" {
			t.Errorf("user = %q, want rankwright-admin", got)
		}
	})
	t.Run("a user has no rights of its own", func(t *testing.T) {
		config, err := c.ConfigForUser("ada", "engineers")
		if err != nil {
			t.Fatal(err)
		}
		user := whoAmI(t, config)
		if user.Username != "ada" || user.Groups[0] != "engineers" {
			t.Errorf("user = %+v, want ada of engineers", user)
		}
		_, err = clientset(t, config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("listing nodes: %v, want Forbidden", err)
		}
	})
	t.Run("a token bound to a node names it", func(t *testing.T) {
		node, err := admin.CoreV1().Nodes().Create(t.Context(),
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}
		if _, err := admin.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		config, err := c.ConfigForAccount(t.Context(), "default", "agent", node)
		if err != nil {
			t.Fatal(err)
		}
		extra := whoAmI(t, config).Extra
		if got := extra["authentication.kubernetes.io/node-name"]; len(got) != 1 || got[0] != "n1" {
			t.Errorf("node in the token = %v, want n1", got)
		}
	})
	t.Run("Stop leaves nothing", func(t *testing.T) {
		processes := c.Processes()
		if len(processes) != 4 {
			t.Fatalf("%d processes, want 4; log:\n%s", len(processes), log.String())
		}
		c.Stop()
		for _, p := range processes {
			if err := syscall.Kill(-p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("%s after Stop: %v, want no such process", p.Name(), err)
			}
			if strings.Contains(p.Exit().Error(), "signal: killed") {
				t.Errorf("%s had to be killed", p.Name())
			}
		}
		if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("folder after Stop: %v, want none", err)
		}
	})
}

func TestStartNamesTheRemedy(t *testing.T) {
	dir := t.TempDir()
	_, err := controlplane.Start(t.Context(), controlplane.Options{BinDir: dir})
	for _, want := range []string{filepath.Join(dir, "etcd"), "make tools", controlplane.AssetsEnv} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start = %v, want it to contain %q", err, want)
		}
	}
}

func TestStartReportsWhatEnded(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		script := "#!/bin/sh\necho no room for " + name + " >&2\nexit 7\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := controlplane.Start(t.Context(), controlplane.Options{BinDir: bin})
	for _, want := range []string{"etcd ended", "exit status 7", "no room for etcd"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start = %v, want it to contain %q", err, want)
		}
	}
}
