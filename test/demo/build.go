package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/process"
)

// tools are the parts of Kubernetes that the demo runs.
var tools = []string{"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl"}

// commands are the parts of Rankwright that the demo runs.
var commands = []string{"node-agent", "operator", "kubectl-rankwright"}

// build builds what is missing; the scripts say what they do. Tools that are there already are used, of another patch too; those of a folder
// that the user names are left to the user.
func build(ctx context.Context, root, assets string) error {
	if cache := filepath.Join(root, ".cache", "bin"); assets == cache {
		if err := command(ctx, root, filepath.Join("tools", "install.sh"), append([]string{"-minor"}, tools...)...); err != nil {
			return err
		}
	}
	for _, name := range tools {
		if _, err := os.Stat(filepath.Join(assets, name)); err != nil {
			return fmt.Errorf("%w: run `make tools`, or unset %s", err, controlplane.AssetsEnv)
		}
	}
	args := []string{"building " + strings.Join(commands, ", "), "go", "build", "-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w", "-o", "bin" + string(filepath.Separator)}
	for _, name := range commands {
		args = append(args, "./cmd/"+name)
	}
	return command(ctx, root, filepath.Join("tools", "progress.sh"), args...)
}

// command runs a program of the repository's to its end, or stops it and all it started when the context ends.
func command(ctx context.Context, root, path string, args ...string) error {
	return process.Run(ctx, process.Spec{
		Name: path,
		Path: filepath.Join(root, path),
		Args: args,
		Env:  append(os.Environ(), "CGO_ENABLED=0"),
		Dir:  root,
	}, 5*time.Second)
}
