package truth

import (
	"errors"
	"os"
	"path/filepath"
)

// Folder is where the tables are: the folder truth of RANKWRIGHT_SHARED, or of the folder shared beside the repository.
func Folder() (string, error) {
	if shared := os.Getenv("RANKWRIGHT_SHARED"); shared != "" {
		return filepath.Join(shared, "truth"), nil
	}
	at, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	for ; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Join(at, "..", "shared", "truth"), nil
		}
	}
	return "", errors.New("no go.mod here or above: run it in the repository, or set RANKWRIGHT_SHARED")
}

// All reads every table of a folder.
func All(folder string) ([]Observation, error) {
	var all []Observation
	for _, read := range []func(string) ([]Observation, error){TensorRTLLM, InferenceX, MLPerf, Megatron} {
		list, err := read(folder)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}
