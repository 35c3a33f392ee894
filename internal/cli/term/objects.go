package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
)

// ObjectHead is what every Kubernetes object begins with.
type ObjectHead struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// EachObject calls a function with every object of a YAML or JSON stream, and with every item of its lists, as JSON. An error says which
// document and item it is about.
func EachObject(content []byte, do func(head *ObjectHead, raw []byte) error) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for number := 1; ; number++ {
		var document runtime.RawExtension
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
		raw := bytes.TrimSpace(document.Raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		if err := eachIn(raw, do); err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
	}
}

// eachIn calls a function with an object, or with the items of a list.
func eachIn(raw []byte, do func(head *ObjectHead, raw []byte) error) error {
	var head ObjectHead
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &head); err != nil {
		return err
	}
	if head.Kind == "" || head.APIVersion == "" {
		return errors.New("no Kubernetes object: add apiVersion and kind")
	}
	if !strings.HasSuffix(head.Kind, "List") || head.Items == nil {
		return do(&head, raw)
	}
	for i, item := range head.Items {
		if err := eachIn(item, do); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	return nil
}
