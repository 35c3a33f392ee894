package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// readKinds makes a page of each CustomResourceDefinition in a folder, by its name below docs/reference.
func readKinds(folder string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	pages := map[string]string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(content, &definition); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		pages["api/"+definition.Spec.Names.Singular+".md"] = kindPage(&definition)
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("no CustomResourceDefinition in %s", folder)
	}
	return pages, nil
}

// kindPage says what the newest version of a kind is: its names, its columns, and every field.
func kindPage(definition *apiextensionsv1.CustomResourceDefinition) string {
	names, version := definition.Spec.Names, definition.Spec.Versions[0]
	schema := version.Schema.OpenAPIV3Schema
	var p page
	p.title(names.Kind)
	p.paragraph(escape(schema.Description))
	p.paragraph(fmt.Sprintf("apiVersion %#q, kind %#q. %s. Short for kubectl: %#q.", definition.Spec.Group+"/"+version.Name, names.Kind,
		map[apiextensionsv1.ResourceScope]string{"Namespaced": "It belongs to a namespace", "Cluster": "It belongs to no namespace"}[definition.Spec.Scope],
		strings.Join(names.ShortNames, ", ")))
	if rules := rulesOf(schema); rules != "" {
		p.paragraph(escape(rules))
	}

	p.heading(2, "Columns")
	rows := [][]string{}
	for _, column := range version.AdditionalPrinterColumns {
		shown := ""
		if column.Priority > 0 {
			shown = "`-o wide`"
		}
		rows = append(rows, []string{strings.ToUpper(column.Name), "`" + strings.TrimPrefix(column.JSONPath, ".") + "`", shown})
	}
	p.table([]string{"column", "field", "only with"}, rows)

	p.heading(2, "Fields")
	for _, name := range []string{"spec", "status"} {
		if property, ok := schema.Properties[name]; ok {
			fields(&p, name, &property)
		}
	}
	return p.String()
}

// fields has a section for an object, and then one for each object in it.
func fields(p *page, path string, object *apiextensionsv1.JSONSchemaProps) {
	p.heading(3, path)
	p.paragraph(escape(object.Description))
	if rules := rulesOf(object); rules != "" {
		p.paragraph(escape(rules))
	}
	names := slices.Sorted(maps.Keys(object.Properties))
	rows := [][]string{}
	for _, name := range names {
		property := object.Properties[name]
		label := "`" + name + "`"
		if inner, _ := objectIn(&property); inner != nil {
			label = fmt.Sprintf("[%#q](#%s)", name, anchor(path+"."+name))
		}
		rows = append(rows, []string{label, typeOf(&property), escape(about(&property, slices.Contains(object.Required, name)))})
	}
	p.table([]string{"field", "type", "what it is"}, rows)
	for _, name := range names {
		property := object.Properties[name]
		if inner, suffix := objectIn(&property); inner != nil {
			fields(p, path+"."+name+suffix, inner)
		}
	}
}

// objectIn is the object with fields of its own that a field is, or is a list or a map of, and nil where there is none.
func objectIn(s *apiextensionsv1.JSONSchemaProps) (object *apiextensionsv1.JSONSchemaProps, suffix string) {
	switch {
	case len(s.Properties) > 0:
		return s, ""
	case s.Items != nil && s.Items.Schema != nil && len(s.Items.Schema.Properties) > 0:
		return s.Items.Schema, "[]"
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && len(s.AdditionalProperties.Schema.Properties) > 0:
		return s.AdditionalProperties.Schema, "{}"
	}
	return nil, ""
}

func typeOf(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map to " + typeOf(s.AdditionalProperties.Schema)
	case s.XIntOrString:
		return "integer or string"
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

// about is a field's description with what its schema adds: whether it is required, its default, its values, its rules.
func about(s *apiextensionsv1.JSONSchemaProps, required bool) string {
	text := []string{s.Description}
	if required {
		text = append(text, "Required.")
	}
	if s.Default != nil && string(s.Default.Raw) != "{}" && !strings.Contains(s.Description, "efault: ") {
		text = append(text, "Default: `"+plain(s.Default.Raw)+"`.")
	}
	values := s.Enum
	if s.Items != nil && s.Items.Schema != nil {
		values = append(values, s.Items.Schema.Enum...)
	}
	if len(values) > 0 {
		var list []string
		for _, value := range values {
			list = append(list, "`"+plain(value.Raw)+"`")
		}
		text = append(text, "One of "+strings.Join(list, ", ")+".")
	}
	if object, _ := objectIn(s); object != s {
		text = append(text, rulesOf(s))
	}
	return strings.TrimSpace(strings.Join(slices.DeleteFunc(text, func(part string) bool { return part == "" }), " "))
}

// rulesOf are the messages with which the API server refuses an object.
func rulesOf(s *apiextensionsv1.JSONSchemaProps) string {
	var messages []string
	for _, rule := range s.XValidations {
		messages = append(messages, "“"+rule.Message+"”")
	}
	if len(messages) == 0 {
		return ""
	}
	return "Refused with " + strings.Join(messages, ", ") + "."
}

// plain is a JSON value as one would type it.
func plain(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return `""`
		}
		return text
	}
	return string(raw)
}
