package model

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
)

// reading is what is done with a config.json whose architectures names a class of an engine.
type reading struct {
	// class is the model_type whose class reads the file where its own model_type is not known, or the language model within it.
	class string
	// headless says that the class has no output head: it gives vectors or scores.
	headless bool
	// refused is why the file is not read; empty where it is.
	refused string
}

// Why architectures are not read. Each says what to do instead.
const (
	drafts     = "it drafts tokens for another model and is loaded beside it: give the model that it drafts for"
	noTokens   = "it handles images or other signals without a language model: give the number of parameters instead"
	uneven     = "its layers differ in ways that config.json describes and that are not counted: give the number of parameters instead"
	twofold    = "its layers have two blocks of attention each: give the number of parameters instead"
	anyModel   = "it stands for any model of Hugging Face transformers: give the config.json with the model's own architecture"
	ownFormat  = "its file names fields of its own: give the number of parameters instead"
	sharedOnce = "its layers share weights in ways that are not counted: give the number of parameters instead"
)

// readAs returns readings of architectures that one class reads.
func readAs(class string, names ...string) map[string]reading {
	return each(reading{class: class}, names)
}

// scoredBy returns readings of architectures without a head.
func scoredBy(class string, names ...string) map[string]reading {
	return each(reading{class: class, headless: true}, names)
}

func refusedFor(reason string, names ...string) map[string]reading {
	return each(reading{refused: reason}, names)
}

func each(r reading, names []string) map[string]reading {
	list := map[string]reading{}
	for _, name := range names {
		list[name] = r
	}
	return list
}

// architectureOf returns the first of the file's architectures; empty where it has none.
func architectureOf(f *fields) string {
	for _, v := range f.list("architectures") {
		if name, ok := v.(string); ok {
			return name
		}
	}
	return ""
}

// refusal returns why a file is not read; nil where it is.
func refusal(f *fields) error {
	for _, of := range []*fields{{values: f.outer}, f} {
		name, kind := architectureOf(of), of.text("model_type")
		if r := architectures[name]; r.refused != "" {
			return fmt.Errorf("architectures is %s: %s", name, r.refused)
		}
		if r := refusedTypes[kind]; r != "" {
			return fmt.Errorf("model_type is %s: %s", words.Echo(kind), r)
		}
	}
	return nil
}

// classOf returns the class that reads a file, by its model_type, else by its architecture.
func classOf(f *fields) (class, bool) {
	if c, known := classes[f.text("model_type")]; known {
		return c, true
	}
	c, known := classes[architectures[architectureOf(f)].class]
	return c, known
}

// headless says that a file's architecture has no output head.
func headless(f *fields) bool { return architectures[architectureOf(f)].headless || f.classifies() }

// classifies says that a file's architecture gives a score for each label.
func (f *fields) classifies() bool {
	name := architectureOf(f)
	return strings.HasSuffix(name, "ForSequenceClassification") || strings.HasSuffix(name, "ForTokenClassification") || strings.HasSuffix(name, "RewardModel")
}
