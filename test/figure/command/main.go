// Command command makes a table of the figures in the output of `go test -v`, which it reads. It fails where a figure does
// not hold, or a test fails or is skipped. With -bench it reads the output of `go test -bench` and writes the bars of
// benchmarks.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/rankwright/rankwright/test/figure"
)

func main() {
	bench := flag.Bool("bench", false, "read benchmarks")
	flag.Parse()
	log.SetFlags(0)
	if *bench {
		if err := figure.Bars(os.Stdin, os.Stdout); err != nil {
			log.Fatalf("figures: %v", err)
		}
		return
	}
	result, err := figure.Table(os.Stdin, os.Stdout)
	if err != nil {
		log.Fatalf("figures: %v", err)
	}
	fmt.Printf("\n%d figures\n", result.Figures)
	if !result.OK() {
		log.Fatalf("figures: %d do not hold, %d tests were skipped:\n%s", result.Failed, result.Skipped, strings.Join(result.Other, "\n"))
	}
}
