// Command install makes pinned tools ready in .cache/bin: those that are there already are used, from .cache, KUBEBUILDER_ASSETS and PATH, and
// the others are built into .cache/tools/NAME@VERSION, all at once.
//
//	install [-minor] NAME...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rankwright/rankwright/tools/install"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tools/install.sh:", err)
		os.Exit(1)
	}
}

// installer knows where things are.
type installer struct {
	root, cache string
	// folders are where tools of the user's are looked for.
	folders []string
	near    install.Match
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("install", flag.ContinueOnError)
	root := flags.String("root", ".", "`folder` of the repository")
	cache := flags.String("cache", ".cache", "`folder` of what was built")
	minor := flags.Bool("minor", false, "take tools that are there already in another patch of the pinned version")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("say which tools; known: %s", strings.Join(install.Names(), " "))
	}
	tools, err := install.Find(*root, flags.Args())
	if err != nil {
		return err
	}
	i := installer{root: *root, cache: *cache, folders: append([]string{os.Getenv("KUBEBUILDER_ASSETS")}, filepath.SplitList(os.Getenv("PATH"))...)}
	if *minor {
		i.near = install.Minor
	}
	return i.install(ctx, tools)
}

func (i *installer) install(ctx context.Context, tools []install.Tool) error {
	for _, folder := range []string{"bin", "tools"} {
		if err := os.MkdirAll(filepath.Join(i.cache, folder), 0o755); err != nil { //nolint:gosec // programs for all
			return err
		}
	}
	var missing []install.Tool
	for _, tool := range tools {
		path, version := i.present(ctx, &tool)
		if path == "" {
			missing = append(missing, tool)
			continue
		}
		if version != "" {
			fmt.Printf("==> using %s %s\n", path, version)
		}
		if err := i.link(tool.Name, path); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := i.build(ctx, install.Groups(missing)); err != nil {
		return err
	}
	for _, tool := range missing {
		if err := i.link(tool.Name, i.built(&tool)); err != nil {
			return err
		}
	}
	return nil
}

// built is where a tool is when it was built.
func (i *installer) built(tool *install.Tool) string {
	return filepath.Join(i.cache, "tools", tool.Name+"@"+tool.Version)
}

// present is where a tool is, with the version of one that was not built here.
func (i *installer) present(ctx context.Context, tool *install.Tool) (path, version string) {
	if _, err := os.Stat(i.built(tool)); err == nil {
		return i.built(tool), ""
	}
	return tool.Present(i.folders, i.near, func(path string, args []string) (string, error) {
		// What is in .cache/bin is what an earlier version linked there.
		if within, err := filepath.Rel(filepath.Join(i.cache, "bin"), path); err == nil && filepath.IsLocal(within) {
			return "", errors.New("linked by this program")
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		printed, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
		return string(printed), err
	})
}

// link makes the tool known as .cache/bin/NAME.
func (i *installer) link(name, path string) error {
	link := filepath.Join(i.cache, "bin", name)
	target, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	// What was built here is linked relatively, so that the folder can be moved.
	if within, err := filepath.Rel(i.cache, path); err == nil && filepath.IsLocal(within) {
		target = filepath.Join("..", within)
	}
	temporary := fmt.Sprintf("%s.%d", link, os.Getpid())
	if err := os.Symlink(target, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, link)
}
