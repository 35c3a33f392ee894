package questions

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// questionsJSON has what was known of each question before its command was run, but where it says that it was corrected.
//
//go:embed questions.json
var questionsJSON []byte

// question is what somebody wants to know, and what of it is known.
type question struct {
	ID       string `json:"id"`
	Topic    string `json:"topic"`
	Question string `json:"question"`
	// Command is the line that answers it, as for a shell, in the folder of this package; | joins commands.
	Command string `json:"command"`
	// Take are paths of the command's JSON (pathValue) whose numbers are added, or multiplied where Judge is "product". Of a
	// refusal it is what its reason names.
	Take []string `json:"take"`
	// Times converts what is taken to Unit; 0 leaves it as it is.
	Times float64 `json:"times"`
	Unit  string  `json:"unit"`
	Known known   `json:"known"`
	Judge judge   `json:"judge"`
	// Percent is how far an answer without a range may be off, and Stated where it says so.
	Percent float64 `json:"percent"`
	Stated  string  `json:"stated"`
	// Digits are the decimals that the publisher rounded to.
	Digits  int      `json:"digits"`
	Sources []source `json:"sources"`
	// Miss says why the answer is off, where it is known to be.
	Miss string `json:"miss"`
	// Corrected says what of the question was changed after its command was first run, and why.
	Corrected string `json:"corrected"`
}

// known is what is known publicly: a value, or what lies from Low to High.
type known struct {
	Value any     `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Says puts it in words, where the number alone does not tell.
	Says string `json:"says"`
}

// source is where something is known from.
type source struct {
	Address string `json:"address"`
	// Of is the day or the version that it speaks of.
	Of string `json:"of"`
}

// judge is how an answer is compared with what is known.
type judge string

const (
	// equal: the same value.
	equal judge = "equal"
	// refused: the command fails, and its reason names what is taken.
	refused judge = "refused"
	// inRange: what is known lies in the range that the answer states.
	inRange judge = "range"
	// within: the answer is at most so many percent off.
	within judge = "percent"
	// digits: rounded as the publisher did, it is the same number.
	digits judge = "digits"
	// product: the numbers that are taken give it, multiplied.
	product judge = "product"
	// between: the answer lies in the interval that is known.
	between judge = "between"
	// contains: the list that is answered has all that is known.
	contains judge = "contains"
)

func readQuestions() ([]question, error) {
	var file struct {
		Questions []question `json:"questions"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(questionsJSON)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("questions.json: %w", err)
	}
	return file.Questions, nil
}

// interval is what is known, as an interval. It is one value where a value is known.
func (k known) interval() (low, high float64) {
	if value, ok := k.Value.(float64); ok {
		return value, value
	}
	return k.Low, k.High
}
