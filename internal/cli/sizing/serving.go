package sizing

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// ServingFlag is the name of the flag for what a server does beside decoding token by token.
const ServingFlag = "serving"

// ServingFlags say what a server does, as fields of workload.inference.serving with their values.
type ServingFlags struct{ fields []string }

// Add adds the flag to a command.
func (f *ServingFlags) Add(command *cobra.Command) {
	command.Flags().StringSliceVar(&f.fields, ServingFlag, nil,
		"what the server does beside, as `FIELD=VALUE` of spec.workload.inference.serving: prefixCache.hitPercent=40; may be repeated")
	names := fieldNames("", reflect.TypeFor[v1alpha1.ServingOptions]())
	for i := range names {
		names[i] += "="
	}
	term.Complete(command, ServingFlag, names)
}

// Options are what the flags say; nil where they say nothing. The error names the field.
func (f *ServingFlags) Options() (*v1alpha1.ServingOptions, error) {
	if len(f.fields) == 0 {
		return nil, nil
	}
	options := &v1alpha1.ServingOptions{}
	for _, field := range f.fields {
		path, value, given := strings.Cut(field, "=")
		at, found := fieldAt(reflect.ValueOf(options).Elem(), path)
		if !found || !given {
			return nil, term.Usagef("--%s %s: give FIELD=VALUE, where the field is one of %s", ServingFlag, field,
				strings.Join(fieldNames("", reflect.TypeFor[v1alpha1.ServingOptions]()), ", "))
		}
		if at.Kind() == reflect.String {
			at.SetString(value)
			continue
		}
		n, err := strconv.ParseInt(value, 10, at.Type().Bits())
		if err != nil {
			return nil, term.Usagef("--%s %s: give a whole number", ServingFlag, field)
		}
		at.SetInt(n)
	}
	return options, nil
}

// fieldAt returns the value at a path of JSON names, for which it makes what is absent above it.
func fieldAt(object reflect.Value, path string) (reflect.Value, bool) {
	name, rest, nested := strings.Cut(path, ".")
	for i := range object.NumField() {
		if jsonName(object.Type().Field(i)) != name {
			continue
		}
		at := object.Field(i)
		switch {
		case at.Kind() != reflect.Pointer:
			return at, !nested
		case !nested:
			return at, false
		case at.IsNil():
			at.Set(reflect.New(at.Type().Elem()))
		}
		return fieldAt(at.Elem(), rest)
	}
	return reflect.Value{}, false
}

// fieldNames are the paths of all fields below one.
func fieldNames(above string, of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		field := of.Field(i)
		if name := above + jsonName(field); field.Type.Kind() == reflect.Pointer {
			names = append(names, fieldNames(name+".", field.Type.Elem())...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
