package cordon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestJudge(t *testing.T) {
	recorded := func(inventory types.UID, devices ...v1alpha1.DeviceID) *record {
		return &record{Inventory: inventory, Devices: devices}
	}
	for about, c := range map[string]struct {
		record   *record
		cordoned []v1alpha1.DeviceID
		want     verdict
	}{
		"nothing was ever cordoned":          {nil, nil, nothing},
		"a first cordon":                     {nil, []v1alpha1.DeviceID{"a"}, keep},
		"the same in another order":          {recorded("u", "a", "b"), []v1alpha1.DeviceID{"b", "a"}, nothing},
		"one more":                           {recorded("u", "a"), []v1alpha1.DeviceID{"a", "b"}, keep},
		"one less":                           {recorded("u", "a", "b"), []v1alpha1.DeviceID{"b"}, keep},
		"lifted":                             {recorded("u", "a"), nil, forget},
		"a new inventory":                    {recorded("former", "a"), nil, restore},
		"a new inventory, restored":          {recorded("former", "a"), []v1alpha1.DeviceID{"a"}, keep},
		"a new inventory with other cordons": {recorded("former", "a"), []v1alpha1.DeviceID{"b"}, keep},
		"an empty record":                    {recorded("former"), nil, forget},
	} {
		t.Run(about, func(t *testing.T) {
			inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
			inventory.Spec.CordonedDevices = c.cordoned
			if got := judge(c.record, inventory); got != c.want {
				t.Errorf("verdict %d, want %d", got, c.want)
			}
		})
	}
}

// Any text is an error or a record, and a record is the same after it was written and read again.
func FuzzDecode(f *testing.F) {
	f.Add(`{"inventory":"u","devices":["nvidia-0000:17:00.0"]}`)
	f.Add(`{"devices":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		read, err := decode(text)
		if err != nil {
			return
		}
		again, err := decode(read.encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read.encode(), again.encode()); diff != "" {
			t.Errorf("(-read +again):\n%s", diff)
		}
	})
}
