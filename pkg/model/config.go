package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rankwright/rankwright/internal/words"
)

// maxConfig is the size in bytes of a config.json that is read; the largest published ones have some 100 KiB.
const maxConfig = 1 << 20

// FromConfig makes a model of a Hugging Face config.json. What the file does not say is taken from the defaults of its
// model_type's class and listed in Assumptions; an unknown model_type is read as a decoder of the common form. The error
// names the field, its value and the remedy.
func FromConfig(name string, config []byte) (*Model, error) {
	m, err := fromConfig(name, config)
	if err != nil {
		return nil, fmt.Errorf("config.json of %q: %w", words.Echo(name), err)
	}
	return m, nil
}

func fromConfig(name string, config []byte) (*Model, error) {
	f, err := parseFields(config)
	if err != nil {
		return nil, err
	}
	if err := refusal(f); err != nil {
		return nil, err
	}
	modelType := f.text("model_type")
	class, known := classOf(f)
	if encoder, _ := f.boolean("is_encoder_decoder"); encoder && !known {
		return nil, fmt.Errorf("is_encoder_decoder is true and model_type is %q: of models with encoder and decoder only whisper, T5, BART and M2M-100 can be placed; give the number of parameters instead", words.Echo(modelType))
	}
	if !known {
		class = unknownClass
		f.assume("model_type %q is not known: counted as a decoder with %d norms a layer, gated blocks and what the file says", words.Echo(modelType), 2)
	}
	f.defaults = class.defaults
	m := &Model{Name: name, Architecture: class.read(f)}
	towers(f, &m.Architecture)
	m.NextTokenModules, m.otherModules = f.nextTokenModules, f.otherModules
	m.Native, m.storage = readStorage(f, &m.Architecture)
	if err := f.finish(); err != nil {
		return nil, err
	}
	m.Assumptions = f.assumptions
	return m.checked()
}

// parseFields reads the object; the language model's fields of a multimodal one hide those around it.
func parseFields(config []byte) (*fields, error) {
	if len(config) > maxConfig {
		return nil, fmt.Errorf("the file has %d bytes: give a model's config.json, which has at most %d", len(config), maxConfig)
	}
	values := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(config))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w: give the config.json that lies beside the model's weights", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON object: give one config.json")
	}
	f := &fields{values: values}
	for _, path := range languageModels {
		if inner, ok := objectAt(values, path); ok {
			f.outer, f.values = values, inner
			break
		}
	}
	return f, nil
}
