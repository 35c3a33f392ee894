// Command licences lists the licences of what is built, and describes built programs as SPDX documents.
//
//	licences [-texts] PROGRAM...      # the licences of the programs' modules, or the texts that go with copies of them
//	licences -modules                 # the same for lines of path and version from standard input
//	licences -sbom FOLDER PROGRAM...  # an SPDX 2.3 document for each program
//
// A licence that is unknown or copyleft is an error that names the module.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rankwright/rankwright/tools/licences"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	cache, toolchain, version, sbom string
	texts, modules                  bool
	programs                        []string
	created                         time.Time
}

func parse(args []string, getenv func(string) string) (options, error) {
	o := options{}
	set := flag.NewFlagSet("licences", flag.ContinueOnError)
	set.StringVar(&o.cache, "modcache", "", "module cache (`go env GOMODCACHE`)")
	set.StringVar(&o.toolchain, "goroot", "", "root of the Go toolchain (`go env GOROOT`)")
	set.StringVar(&o.version, "version", "", "version of the programs; default is what the toolchain recorded")
	set.StringVar(&o.sbom, "sbom", "", "`folder` to write SPDX documents to")
	set.BoolVar(&o.texts, "texts", false, "print the texts instead of the list")
	set.BoolVar(&o.modules, "modules", false, "read modules from standard input instead of programs")
	if err := set.Parse(args); err != nil {
		return o, err
	}
	o.programs = set.Args()
	switch {
	case o.cache == "" || o.toolchain == "":
		return o, errors.New("-modcache and -goroot are needed: pass $(go env GOMODCACHE) and $(go env GOROOT)")
	case o.modules == (len(o.programs) > 0):
		return o, errors.New("want either programs or -modules")
	case o.modules && o.sbom != "":
		return o, errors.New("-sbom describes programs, not modules")
	}
	var err error
	o.created, err = creation(getenv("SOURCE_DATE_EPOCH"))
	return o, err
}

// creation is the time that documents carry: that of the sources, so that the same sources give the same document
// (reproducible-builds.org, SOURCE_DATE_EPOCH).
func creation(epoch string) (time.Time, error) {
	if epoch == "" {
		return time.Unix(0, 0), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q: want seconds since 1970, as git log -1 --format=%%ct prints", epoch)
	}
	return time.Unix(seconds, 0), nil
}

func run(args []string, in io.Reader, out io.Writer, getenv func(string) string) error {
	o, err := parse(args, getenv)
	if err != nil {
		return err
	}
	sources := licences.Sources{Cache: os.DirFS(o.cache), Toolchain: os.DirFS(o.toolchain)}
	if o.modules {
		lines, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		modules, err := licences.ReadModules(string(lines), sources)
		return errors.Join(printModules(out, modules, o.texts), err)
	}
	var programs []licences.Program
	var problems []error
	for _, file := range o.programs {
		program, err := licences.ReadProgram(filepath.Base(file), file, sources)
		if o.version != "" {
			program.Version = o.version
		}
		programs, problems = append(programs, program), append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if o.sbom == "" {
		return printModules(out, licences.Merge(programs), o.texts)
	}
	return write(out, o, programs)
}

func printModules(out io.Writer, modules []licences.Module, texts bool) error {
	if texts {
		return licences.WriteNotices(out, modules)
	}
	return licences.WriteTable(out, modules)
}

func write(out io.Writer, o options, programs []licences.Program) error {
	if err := os.MkdirAll(o.sbom, 0o755); err != nil { //nolint:gosec // no secret
		return err
	}
	for i := range programs {
		content, err := os.ReadFile(o.programs[i])
		if err != nil {
			return err
		}
		document, err := programs[i].SPDX(content, o.created)
		if err != nil {
			return err
		}
		name := filepath.Join(o.sbom, programs[i].Name+".spdx.json")
		if err := os.WriteFile(name, document, 0o644); err != nil { //nolint:gosec // no secret
			return err
		}
		if _, err := fmt.Fprintln(out, name); err != nil {
			return err
		}
	}
	return nil
}
