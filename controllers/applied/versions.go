package applied

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/controllers/objects"
)

// Versions are the resourceVersions that objects of one kind had after this process last wrote each: a cache may show one from before that, whose status
// would be written again for nothing. The zero value is ready, and may be used by several at once.
type Versions struct{ last objects.Memo[version] }

type version struct {
	uid     types.UID
	written string
}

// Note notes that an object was written, and its resourceVersion since; none where the object was gone.
func (v *Versions) Note(object client.Object, written string) {
	v.last.Set(client.ObjectKeyFromObject(object), version{object.GetUID(), written})
}

// After says whether an object was written after it was as it is shown.
func (v *Versions) After(shown client.Object) bool {
	last := v.last.Get(client.ObjectKeyFromObject(shown))
	// What cannot be compared is left to the API server.
	order, err := resourceversion.CompareResourceVersion(last.written, shown.GetResourceVersion())
	return last.uid == shown.GetUID() && err == nil && order > 0
}

// Forget forgets an object that is gone.
func (v *Versions) Forget(key types.NamespacedName) { v.last.Forget(key) }
