package v1alpha1_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// What a rule about the presence of fields says, by its operator.
var unionWords = map[string]string{"==": "exactly one of", "<=": "at most one of", ">=": "at least one of"}

var (
	unionRule = regexp.MustCompile(`^\[(has\(self\.\w+\)(?:, has\(self\.\w+\))+)\]\.filter\(x, x\)\.size\(\) (==|<=|>=) 1$`)
	unionName = regexp.MustCompile(`self\.(\w+)`)
	unionText = regexp.MustCompile(`(?i)^(exactly|at most|at least) one of|exclude`)
)

// TestUnionsAreOfOneForm: every rule about which of several fields are set is written in one way, says so in one way with a remedy,
// and stands in the description of the field that is the union.
func TestUnionsAreOfOneForm(t *testing.T) {
	unions := 0
	eachSchema(t, func(path string, schema *apiextensionsv1.JSONSchemaProps) {
		for _, rule := range schema.XValidations {
			form := unionRule.FindStringSubmatch(rule.Rule)
			if form == nil {
				if unionText.MatchString(rule.Message) {
					t.Errorf("%s: the rule %q of the union is not of the form of the others", path, rule.Rule)
				}
				continue
			}
			unions++
			var names []string
			for _, name := range unionName.FindAllStringSubmatch(form[1], -1) {
				names = append(names, name[1])
				if _, has := schema.Properties[name[1]]; !has {
					t.Errorf("%s: the rule names %s, which is no field", path, name[1])
				}
			}
			last := len(names) - 1
			said := fmt.Sprintf("%s %s and %s", unionWords[form[2]], strings.Join(names[:last], ", "), names[last])
			if !strings.HasPrefix(rule.Message, said+" must be set: ") {
				t.Errorf("%s: message %q does not begin with %q and a remedy", path, rule.Message, said+" must be set: ")
			}
			text := strings.ToUpper(said[:1]) + said[1:] + " is set."
			if !strings.Contains(strings.Join(strings.Fields(schema.Description), " "), text) {
				t.Errorf("%s: the description does not say %q", path, text)
			}
		}
	})
	if unions < 6 {
		t.Errorf("%d unions, want those of model, workload, parallelism, topology, attention and claim attribute", unions)
	}
}
