package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/process"
)

// tools are the parts of Kubernetes that the demo runs.
var tools = []string{"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl"}

// commands are the parts of Rankwright that the demo runs.
var commands = []string{"node-agent", "operator"}

// build builds what is missing; the scripts say what they do. Tools of a folder of the user's own are left to the user.
func build(ctx context.Context, root, assets string) error {
	if cache := filepath.Join(root, ".cache", "bin"); assets == cache {
		if err := command(ctx, root, filepath.Join("tools", "install.sh"), tools...); err != nil {
			return err
		}
	}
	for _, name := range tools {
		if _, err := os.Stat(filepath.Join(assets, name)); err != nil {
			return fmt.Errorf("%w: run `make tools`, or unset %s", err, controlplane.AssetsEnv)
		}
	}
	for _, name := range commands {
		target := filepath.Join("bin", name)
		err := command(ctx, root, filepath.Join("tools", "progress.sh"), "building "+target,
			"go", "build", "-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w", "-o", target, "./cmd/"+name)
		if err != nil {
			return err
		}
	}
	return nil
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
