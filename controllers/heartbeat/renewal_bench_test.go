package heartbeat

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// BenchmarkRenewal decodes a Lease of an agent as a watch brings it, in each form in which it can be asked for, and takes it.
func BenchmarkRenewal(b *testing.B) {
	now, holder := metav1.NewMicroTime(time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)), "node-00001"
	meta := metav1.ObjectMeta{
		Namespace: "rankwright-node-agent", Name: holder, UID: "0c3e6a0e-5a0e-4a52-9c46-7f7d5b6a8a11", ResourceVersion: "123456789", CreationTimestamp: metav1.NewTime(now.Time),
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "rankwright-node-agent", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "coordination.k8s.io/v1", Time: &metav1.Time{Time: now.Time}, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:rankwright.dev/utilization":{}}},"f:spec":{"f:holderIdentity":{},"f:leaseDurationSeconds":{},"f:renewTime":{}}}`),
		}},
	}
	busy := inventory.Utilization{ReadAt: metav1.NewTime(now.Time), Percent: map[v1alpha1.DeviceID]int64{}}
	for i := range 8 {
		busy.Percent[v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:%02x:00.0", 0x1b+i))] = 97
	}
	text, err := busy.Text()
	if err != nil {
		b.Fatal(err)
	}
	meta.Annotations = map[string]string{v1alpha1.AnnotationUtilization: text}
	full := &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: seconds, RenewTime: &now}}
	partial := &metav1.PartialObjectMetadata{ObjectMeta: meta}
	metaOnly := runtime.NewScheme()
	metav1.AddToGroupVersion(metaOnly, metav1.SchemeGroupVersion)
	_ = metav1.AddMetaToScheme(metaOnly)
	for _, form := range []struct {
		name, media string
		object      runtime.Object
		of          *runtime.Scheme
		group       runtime.GroupVersioner
	}{
		{"Lease, JSON", runtime.ContentTypeJSON, full, scheme.Scheme, coordinationv1.SchemeGroupVersion},
		{"Lease, protobuf", runtime.ContentTypeProtobuf, full, scheme.Scheme, coordinationv1.SchemeGroupVersion},
		{"metadata alone, JSON", runtime.ContentTypeJSON, partial, metaOnly, metav1.SchemeGroupVersion},
		{"metadata alone, protobuf", runtime.ContentTypeProtobuf, partial, metaOnly, metav1.SchemeGroupVersion},
	} {
		codecs := serializer.NewCodecFactory(form.of)
		info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), form.media)
		text, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, form.group), form.object)
		if err != nil {
			b.Fatal(err)
		}
		decoder := codecs.UniversalDeserializer()
		m := &Monitor{Now: time.Now}
		b.Run(form.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				object, _, err := decoder.Decode(text, nil, nil)
				if err != nil {
					b.Fatal(err)
				}
				if taken, is := object.(*coordinationv1.Lease); is {
					m.set(taken)
				}
			}
		})
		b.Logf("%s: %d bytes", form.name, len(text))
	}
}
