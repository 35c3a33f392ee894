// Command planhash plans some eighteen thousand cases, drawn from seeds and from the catalogues of models and nodes, and
// prints a line for each: its name, a hash of the structure of its plan or refusal, a hash of its estimates, and a hash of all
// that is said, messages and remedies included. Two revisions plan alike where their first three are equal, and answer alike where
// their lines are. Structure is degrees, devices, bytes, reasons and the numbers of remedies; wording is left out of it.
//
// With -v each line ends in what was asked, the structure, the estimates and the whole themselves, so that a difference can be read.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

func main() {
	verbose := flag.Bool("v", false, "print the structures, too")
	every := flag.Int("every", 1, "plan only one of so many cases")
	flag.Parse()
	cases := slices.Concat(catalogueCases(), drawnCases(), refusedCases(), crowdedCases())
	lines := make([]string, len(cases))
	var planning errgroup.Group
	planning.SetLimit(runtime.GOMAXPROCS(0))
	for i := 0; i < len(cases); i += *every {
		planning.Go(func() error {
			lines[i] = line(&cases[i], *verbose)
			return nil
		})
	}
	_ = planning.Wait()
	out := bufio.NewWriter(os.Stdout)
	defer func() { _ = out.Flush() }()
	for _, l := range lines {
		if l != "" {
			_, _ = fmt.Fprintln(out, l)
		}
	}
}

func line(c *planCase, verbose bool) string {
	a := c.answer()
	text := fmt.Sprintf("%s\t%s\t%s\t%s", c.name, hash(a.structure), hash(a.estimates), hash(a.whole))
	if verbose {
		text += fmt.Sprintf("\t%s\t%s\t%s\t%s", a.asked, a.structure, a.estimates, a.whole)
	}
	return text
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}
