// Command fit makes the constants of the model of costs: it fits them to half of the published measurements, finds the
// spread of the errors at each basis by fitting without a part of that half in turn, and writes them, with what was measured, where the
// package embeds them. With
// -leave-out it writes the errors when a whole model or a whole product is left out of the fit, which a test holds to bars. The constants of
// training are fitted apart, with -training alone.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/calibration"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

func main() {
	out := flag.String("out", "pkg/cost/constants.json", "file to write the constants to")
	leaveOut := flag.Bool("leave-out", false, "instead of fitting, write the errors when a model or a product is left out")
	training := flag.Bool("training", false, "fit the constants of training alone")
	flag.Parse()
	log.SetFlags(0)
	if err := run(*out, *leaveOut, *training); err != nil {
		log.Fatalf("fit: %v", err)
	}
}

func run(out string, leaveOut, onlyTraining bool) error {
	if !leaveOut {
		if err := fitTraining(filepath.Join(filepath.Dir(out), "training.json")); err != nil || onlyTraining {
			return err
		}
	}
	all, err := truth.All()
	if err != nil {
		return err
	}
	if leaveOut {
		return writeLeftOut(all, out)
	}
	made, err := calibration.Made(all)
	if err != nil {
		return err
	}
	log.Printf("fitted to %d of %d observations", len(calibration.Training(all)), len(all))
	if err := os.WriteFile(filepath.Join(filepath.Dir(out), "cells.json"), made.Cells, 0o644); err != nil {
		return err
	}
	return os.WriteFile(out, made.Constants, 0o644)
}

// limits are those of the time per output token under which shapes are chosen, in seconds.
var limits = []float64{0.050, 0.030, 0.020, 0.012}

// fitTraining fits the constants of training, which share none with serving, and writes them.
func fitTraining(out string) error {
	all, err := truth.Training()
	if err != nil {
		return err
	}
	recipes, err := truth.TrainingRecipes()
	if err != nil {
		return err
	}
	data, err := calibration.MadeTraining(all, recipes)
	if err != nil {
		return err
	}
	all = slices.Concat(all, recipes)
	log.Printf("training fitted to %d of %d observations", len(calibration.Training(all)), len(all))
	return os.WriteFile(out, data, 0o644)
}

// printSwapped fits to the half that is held out and prints the errors on the other half.
func printSwapped(all []truth.Observation) {
	fitted := func(o *truth.Observation) bool { return !o.Held() }
	c := calibration.Calibrate(slices.DeleteFunc(slices.Clone(all), func(o truth.Observation) bool { return fitted(&o) || o.Reported }))
	log.Printf("fitted to the other half:%s", medians(calibration.ErrorsByKind(all, c, fitted)))
	choice := calibration.Choose(all, c, func(o *truth.Observation) bool { return o.Table == "trtllm" && fitted(o) })
	log.Printf("choices: %+v; under limits: %+v", choice, calibration.ChooseUnder(all, c, limits, fitted))
}

// writeLeftOut writes the errors without each model and product, with the hash of the constants that they belong to.
func writeLeftOut(all []truth.Observation, constants string) error {
	printSwapped(all)
	data, err := os.ReadFile(constants)
	if err != nil {
		return err
	}
	built, err := cost.Load()
	if err != nil {
		return err
	}
	result := calibration.LeftOut{
		Ranges:    calibration.Inside(built, all),
		Constants: calibration.Hash(data),
		Pairs: calibration.LeaveOutPairs(all, "inferencex", limits, built, func(name string, errors map[calibration.Kind][]float64) {
			log.Printf("without %s:%s", name, medians(errors))
		}),
		ByModel:      calibration.HalvesOf(all, calibration.ByModel),
		ByLaboratory: calibration.HalvesOf(all, calibration.ByLaboratory),
		Models:       leftOut(all, "model", func(o *truth.Observation) string { return o.Model }),
		Products:     leftOut(all, "product", func(o *truth.Observation) string { return o.GPU }),
	}
	written, err := json.MarshalIndent(&result, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("tools", "fit", calibration.LeftOutFile), append(written, '\n'), 0o644)
}

// leftOut prints the median errors without each model or product, and returns those of all that were left out.
func leftOut(all []truth.Observation, what string, key func(*truth.Observation) string) []calibration.Median {
	total := calibration.LeaveOut(all, key, func(name string, errors map[calibration.Kind][]float64) {
		log.Printf("without %s %s:%s", what, name, medians(errors))
	})
	log.Printf("leaving out one %s:%s", what, medians(total))
	return calibration.Medians(total)
}

func medians(errors map[calibration.Kind][]float64) string {
	var text strings.Builder
	for _, m := range calibration.Medians(errors) {
		fmt.Fprintf(&text, " %s %s %.1f %% of %d;", m.Table, m.Quantity, 100*m.Error, m.Count)
	}
	return text.String()
}
