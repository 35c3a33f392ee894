package applied

import (
	"time"

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
	at      time.Time
}

// late is how long a cache may show what was there before a write. What it shows after that is taken for what there is: versions go back where etcd is
// restored from a backup, and the API server refuses what is written from too old a cache anyway.
const late = 30 * time.Second

// Note notes that an object was written now, and its resourceVersion since; none where the object was gone.
func (v *Versions) Note(object client.Object, written string, now time.Time) {
	v.last.Set(client.ObjectKeyFromObject(object), version{object.GetUID(), written, now})
}

// After says whether an object was written after it was as it is shown now.
func (v *Versions) After(shown client.Object, now time.Time) bool {
	last := v.last.Get(client.ObjectKeyFromObject(shown))
	if age := now.Sub(last.at); age < 0 || age > late { // before 0 the clock was set back
		return false
	}
	// What cannot be compared is left to the API server.
	order, err := resourceversion.CompareResourceVersion(last.written, shown.GetResourceVersion())
	return last.uid == shown.GetUID() && err == nil && order > 0
}

// Forget forgets an object that is gone.
func (v *Versions) Forget(key types.NamespacedName) { v.last.Forget(key) }
