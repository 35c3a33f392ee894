// Command fit makes the constants of the model of costs: it fits them to half of the published measurements, finds the
// spread of the errors by fitting without a part of that half in turn, and writes them where the package embeds them. With
// -leave-out it prints the errors when a whole model or a whole product is left out of the fit.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/cost/internal/calibration"
	"github.com/rankwright/rankwright/pkg/cost/internal/truth"
)

func main() {
	folder := flag.String("truth", "", "folder of the measurements (default: ../shared/truth beside the repository)")
	out := flag.String("out", "pkg/cost/constants.json", "file to write the constants to")
	leaveOut := flag.Bool("leave-out", false, "print the errors when a model or a product is left out, and write nothing")
	flag.Parse()
	log.SetFlags(0)
	if err := run(*folder, *out, *leaveOut); err != nil {
		log.Fatalf("fit: %v", err)
	}
}

func run(folder, out string, leaveOut bool) error {
	if folder == "" {
		found, err := truth.Folder()
		if err != nil {
			return err
		}
		folder = found
	}
	all, err := truth.All(folder)
	if err != nil {
		return err
	}
	if leaveOut {
		printSwapped(all)
		printLeftOut(all, "model", func(o *truth.Observation) string { return o.Model })
		printLeftOut(all, "product", func(o *truth.Observation) string { return o.GPU })
		return nil
	}
	training := calibration.Training(all)
	c := calibration.Fit(training)
	calibration.Spreads(c, training)
	data, err := cost.Format(c)
	if err != nil {
		return err
	}
	log.Printf("fitted to %d of %d observations", len(training), len(all))
	return os.WriteFile(out, append(data, '\n'), 0o644)
}

// printSwapped fits to the half that is held out and prints how that does on the other.
func printSwapped(all []truth.Observation) {
	fitted := func(o *truth.Observation) bool { return !o.Held() }
	c := calibration.Fit(slices.DeleteFunc(slices.Clone(all), func(o truth.Observation) bool { return fitted(&o) || o.Reported }))
	log.Printf("fitted to the other half:%s", medians(calibration.ErrorsByKind(all, c, fitted)))
	choice := calibration.Choose(all, c, func(o *truth.Observation) bool { return o.Table == "trtllm" && fitted(o) })
	limits := calibration.ChooseUnder(all, c, []float64{0.050, 0.030, 0.020, 0.012}, fitted)
	log.Printf("choices: %+v; under limits: %+v", choice, limits)
}

// printLeftOut fits without each model or product in turn and prints the median error of what was left out.
func printLeftOut(all []truth.Observation, what string, key func(*truth.Observation) string) {
	var names []string
	for i := range all {
		if all[i].Table != "megatron" {
			names = append(names, key(&all[i]))
		}
	}
	slices.Sort(names)
	total := map[calibration.Kind][]float64{}
	for _, name := range slices.Compact(names) {
		kept := slices.DeleteFunc(slices.Clone(all), func(o truth.Observation) bool { return key(&o) == name || o.Reported })
		errors := calibration.ErrorsByKind(all, calibration.Fit(kept), func(o *truth.Observation) bool { return key(o) == name })
		log.Printf("without %s %s:%s", what, name, medians(errors))
		for kind, list := range errors {
			total[kind] = append(total[kind], list...)
		}
	}
	log.Printf("leaving out one %s:%s", what, medians(total))
}

func medians(errors map[calibration.Kind][]float64) string {
	var kinds []calibration.Kind
	for kind := range errors {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b calibration.Kind) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Quantity, b.Quantity))
	})
	var text strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&text, " %s %s %.1f %% of %d;", kind.Table, kind.Quantity, 100*calibration.Quantile(errors[kind], 0.5), len(errors[kind]))
	}
	return text.String()
}
