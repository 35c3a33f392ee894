// Page makes the files of the plugin's page from their sources: modules and styles are bundled, and everything else is copied.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: page SOURCES ASSETS")
		os.Exit(2)
	}
	if err := build(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

// bundled are made of what they import, copied are taken over as they are.
var (
	bundled = []string{"page.js", "page.css"}
	copied  = []string{"index.html", "icon.svg"}
)

func build(sources, assets string) error {
	options := api.BuildOptions{
		Outdir: assets, Bundle: true, Write: true, Charset: api.CharsetUTF8, Format: api.FormatESModule, LegalComments: api.LegalCommentsInline,
		LogLevel: api.LogLevelWarning, MinifyIdentifiers: true, MinifySyntax: true, MinifyWhitespace: true, Platform: api.PlatformBrowser,
		Target: api.ES2022,
	}
	for _, name := range bundled {
		options.EntryPoints = append(options.EntryPoints, filepath.Join(sources, name))
	}
	if made := api.Build(options); len(made.Errors) > 0 {
		return errors.New("the sources have errors")
	}
	for _, name := range copied {
		content, err := os.ReadFile(filepath.Join(sources, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(assets, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
