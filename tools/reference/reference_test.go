package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

const definition = `
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, singular: thing, shortNames: [th]}
  versions:
  - name: v1
    additionalPrinterColumns: [{name: Size, jsonPath: .status.size, priority: 1}]
    schema:
      openAPIV3Schema:
        description: A thing of <kind> x.
        properties:
          spec:
            description: What is asked for.
            required: [size]
            x-kubernetes-validations: [{rule: "true", message: sizes must be even}]
            properties:
              size: {type: string, description: How large., default: Large, enum: [Small, Large]}
              parts:
                type: array
                description: What it is made of.
                items: {type: object, properties: {name: {type: string, description: Its name.}}}
`

func TestKindPage(t *testing.T) {
	var d apiextensionsv1.CustomResourceDefinition
	if err := sigsyaml.UnmarshalStrict([]byte(definition), &d); err != nil {
		t.Fatal(err)
	}
	has(t, kindPage(&d),
		"A thing of &lt;kind> x.",
		"It belongs to a namespace. Short for kubectl: `th`.",
		"| SIZE | `status.size` | `-o wide` |",
		"Refused with “sizes must be even”.",
		"| `size` | string | How large. Required. Default: `Large`. One of `Small`, `Large`. |",
		"| [`parts`](#specparts) | list of object | What it is made of. |",
		"### spec.parts[]\n",
		"| `name` | string | Its name. |",
	)
}

const chart = `
# About the file.

# One value.
alone: {}

group:
  # The first.
  first: 1
  # Two of them.
  second: a
  third: [b]
  # A group in a group.
  inner:
    # Deep.
    deep: true
  # A setting that is off.
  off:
    enabled: false
    # How many.
    many: 2
# With an example:
#   amd:
#     serve: true
example: {}
`

func TestValuesPage(t *testing.T) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(chart), &document); err != nil {
		t.Fatal(err)
	}
	page, err := valuesPage(document.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	has(t, page,
		"## alone\n\nOne value.\n",
		"| `group.first` | `1` | The first. |",
		"| `group.second`, `group.third` | `a`, `[b]` | Two of them. |",
		"| `group.inner` |  | A group in a group. |\n| `group.inner.deep` | `true` | Deep. |",
		"| `group.off.enabled` | `false` | A setting that is off. |",
		"With an example:\n\n```yaml\namd:\n  serve: true\n```\n",
	)
	if strings.Contains(page, "About the file") {
		t.Error("what is said of the file stands at a value")
	}
}

func TestCommandPage(t *testing.T) {
	root := &cobra.Command{Use: "plugin", Long: "A plugin."}
	look := &cobra.Command{Use: "look NAME", Short: "Look", Long: "Look at <it>.\n\n  a   first\n  b   second", Example: "  plugin look a", Run: func(*cobra.Command, []string) {}}
	look.Flags().StringP("output", "o", "table", "format, `json|table`")
	look.Flags().Bool("secret", false, "for tests")
	if err := look.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	root.AddCommand(look)
	page := commandPage(root)
	has(t, page,
		"| [`look`](#look) | Look |",
		"## look\n\nLook at &lt;it>.\n\n```text\na   first\nb   second\n```\n",
		"```text\nplugin look NAME [flags]\n```",
		"```sh\nplugin look a\n```",
		"| `-o`, `--output` | json\\|table | format, json\\|table | `table` |",
	)
	if strings.Contains(page, "secret") {
		t.Error("a hidden flag is listed")
	}
}

func TestProgramPage(t *testing.T) {
	root := &cobra.Command{Use: "agent", Short: "Do it", Run: func(*cobra.Command, []string) {}}
	root.Flags().String("file", "", "a `path`; default none")
	below := &cobra.Command{Use: "clean", Short: "Clean up", Run: func(*cobra.Command, []string) {}}
	root.AddCommand(below)
	has(t, programPage(root),
		"# Flags of agent\n",
		"\nDo it.\n",
		"| `--file` | path | a path; default none |  |",
		"| [`clean`](#clean) | Clean up |",
		"## clean\n\nClean up.\n",
	)
}

func TestEscapeSparesCode(t *testing.T) {
	if got, want := escape("a_b <c> `d_e <f>`"), "a\\_b &lt;c> `d_e <f>`"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func has(t *testing.T, page string, wanted ...string) {
	t.Helper()
	for _, text := range wanted {
		if !strings.Contains(page, text) {
			t.Errorf("%q is not in\n%s", text, page)
		}
	}
}
