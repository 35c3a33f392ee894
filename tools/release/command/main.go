// Command release makes the parts of a release that goreleaser does not.
//
//	release chart  -version V -out FOLDER             # the chart's folder, ready for helm package
//	release images -version V -out FOLDER -work FOLDER # an archive of each image, with all architectures
//	release push   -to REGISTRY/ORGANISATION ARCHIVE...  # pushes them, and prints their digests
//	release notes  -version V                         # what the changelog says of the version
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/tools/images"
	"github.com/rankwright/rankwright/tools/licences"
	"github.com/rankwright/rankwright/tools/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	root, version, out, work, to string
	archives                     []string
}

var verbs = map[string]func(context.Context, options, io.Writer) error{
	"chart": chart, "images": makeImages, "push": push, "notes": notes,
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || verbs[args[0]] == nil {
		return errors.New("say what to do: chart, images, push or notes")
	}
	root, err := repository.Root()
	if err != nil {
		return err
	}
	o := options{root: root}
	flags := flag.NewFlagSet("release "+args[0], flag.ContinueOnError)
	flags.StringVar(&o.version, "version", "", "version of the release, without v")
	flags.StringVar(&o.out, "out", "", "`folder` that the result is written to")
	flags.StringVar(&o.work, "work", "", "`folder` that programs are built in")
	flags.StringVar(&o.to, "to", release.Registry, "`registry` and organisation to push to")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	o.archives = flags.Args()
	return verbs[args[0]](ctx, o, out)
}

func (o *options) changelog() (string, error) {
	text, err := os.ReadFile(filepath.Join(o.root, "CHANGELOG.md"))
	return string(text), err
}

func chart(_ context.Context, o options, _ io.Writer) error {
	changelog, err := o.changelog()
	if err != nil {
		return err
	}
	return release.StageChart(filepath.Join(o.root, "charts", "rankwright"), o.out, o.version, changelog)
}

func notes(_ context.Context, o options, out io.Writer) error {
	changelog, err := o.changelog()
	if err != nil {
		return err
	}
	section, err := release.Section(changelog, o.version)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, section)
	return err
}

func makeImages(ctx context.Context, o options, out io.Writer) error {
	if err := release.CheckVersion(o.version); err != nil {
		return err
	}
	sources, err := goFolders(ctx)
	if err != nil {
		return err
	}
	revision, err := output(ctx, "git", "-C", o.root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	commit, seconds, _ := strings.Cut(revision, " ")
	created, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("time of the commit: %w", err)
	}
	build := release.Build{
		Root: o.root, Out: o.out, Work: o.work, Version: o.version, Revision: commit, Created: time.Unix(created, 0), Sources: sources,
		Say: func(format string, args ...any) { _, _ = fmt.Fprintf(out, "    "+format+"\n", args...) },
	}
	architectures, lacks := images.Architectures()
	if lacks != "" {
		build.Say("for %s alone: there is no %s, which builds the programs that need C for another architecture", strings.Join(architectures, ", "), lacks)
	}
	return build.Images(ctx, architectures)
}

// goFolders are where the toolchain has modules and its own licence.
func goFolders(ctx context.Context) (licences.Sources, error) {
	folders, err := output(ctx, "go", "env", "GOMODCACHE", "GOROOT")
	if err != nil {
		return licences.Sources{}, err
	}
	cache, toolchain, _ := strings.Cut(folders, "\n")
	return licences.Sources{Cache: os.DirFS(cache), Toolchain: os.DirFS(toolchain)}, nil
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	said, err := exec.CommandContext(ctx, name, args...).Output() //nolint:gosec // git and go
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(said)), nil
}

func push(ctx context.Context, o options, out io.Writer) error {
	for _, archive := range o.archives {
		if err := pushOne(ctx, o, archive, out); err != nil {
			return fmt.Errorf("push %s: %w", archive, err)
		}
	}
	return nil
}

func pushOne(ctx context.Context, o options, archive string, out io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "rankwright-push-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	index, reference, err := images.Open(archive, folder)
	if err != nil {
		return err
	}
	target := o.to + strings.TrimPrefix(reference, release.Registry)
	pushed, err := images.Push(index, target, nil, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, pushed)
	return err
}
