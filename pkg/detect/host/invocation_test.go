package host

import "testing"

func TestAllows(t *testing.T) {
	nvidia := InvocationsOf("nvidia")
	tests := map[string]struct {
		allowed []Invocation
		argv    []string
		want    bool
	}{
		"an invocation":             {nvidia, []string{"nvidia-smi", "-q", "-x"}, true},
		"one GPU":                   {nvidia, []string{"nvidia-smi", "-q", "-x", "-i", "0000:17:00.0"}, true},
		"a GPU by the tool's name":  {nvidia, []string{"nvidia-smi", "-q", "-x", "-i", "00000000:17:00.0"}, true},
		"a file for an address":     {nvidia, []string{"nvidia-smi", "-q", "-x", "-i", "/etc/shadow"}, false},
		"the driver for containers": {nvidia, []string{"rankwright-cdi", "generate", "--make-nodes", "--hook=", "--imex-channels="}, true},
		"a program and channels":    {nvidia, []string{"rankwright-cdi", "generate", "--make-nodes", "--hook=/opt/a-b/nvidia-cdi-hook", "--imex-channels=0,12"}, true},
		"a program out of the tree": {nvidia, []string{"rankwright-cdi", "generate", "--make-nodes", "--hook=/opt/../etc/shadow", "--imex-channels="}, false},
		"a form as it is written":   {nvidia, []string{"rankwright-cdi", "generate", "--make-nodes", "--hook=PATH", "--imex-channels=NUMBERS"}, false},
		"installing":                {nvidia, []string{"rankwright-cdi", "install", "--to=/", "--hook=", "--imex-channels="}, false},
		"another argument":          {nvidia, []string{"nvidia-smi", "-r"}, false},
		"one more argument":         {nvidia, []string{"nvidia-smi", "-L", "-f"}, false},
		"another tool":              {nvidia, []string{"sh", "-c", "id"}, false},
		"another vendor's tool":     {nvidia, []string{"neuron-ls", "-j"}, false},
		"nothing":                   {nvidia, nil, false},
		"of several vendors":        {InvocationsOf("nvidia", "aws"), []string{"neuron-ls", "-j"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Allows(test.allowed, test.argv); got != test.want {
				t.Errorf("%q: %t, want %t", test.argv, got, test.want)
			}
		})
	}
}
