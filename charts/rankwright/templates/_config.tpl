{{/*
Objects of files/, which `make generate` copies from config/, for this release: with its labels, namespaces and service
accounts. Takes root, glob, and optionally annotations and component.
*/}}
{{- define "rankwright.fromConfig" -}}
{{- $ := . }}
{{- $root := .root }}
{{- $user := "system:serviceaccount:rankwright-node-agent:rankwright-node-agent" }}
{{- $ourUser := printf "system:serviceaccount:%s:%s" $root.Release.Namespace $root.Values.agent.serviceAccount.name }}
{{- $operator := "system:serviceaccount:rankwright-operator:rankwright-operator" }}
{{- $ourOperator := printf "system:serviceaccount:%s:%s" $root.Values.operator.namespace.name $root.Values.operator.serviceAccount.name }}
{{- range $path, $_ := $root.Files.Glob .glob }}
{{- range $document := regexSplit "(?m)^---$" ($root.Files.Get $path | replace $user $ourUser | replace $operator $ourOperator) -1 }}
{{- $object := fromYaml $document }}
{{- if $object }}
{{- include "rankwright.place" (dict "root" $root "object" $object "annotations" (default dict $.annotations) "component" $.component) }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Changes an object of config/ for this release. Takes root, object, annotations, component. */}}
{{- define "rankwright.place" -}}
{{- $namespaces := dict "rankwright-node-agent" .root.Release.Namespace "rankwright-operator" .root.Values.operator.namespace.name }}
{{- $accounts := dict "rankwright-node-agent" .root.Values.agent.serviceAccount "rankwright-operator" .root.Values.operator.serviceAccount }}
{{- $metadata := .object.metadata }}
{{- with $metadata.namespace }}{{ $_ := set $metadata "namespace" (get $namespaces .) }}{{ end }}
{{- $_ := set $metadata "labels" (include "rankwright.labels" (dict "root" .root "component" .component "more" $metadata.labels) | fromYaml) }}
{{- $annotations := merge (default dict $metadata.annotations) .annotations }}
{{- if eq .object.kind "ServiceAccount" }}
{{- with get $accounts $metadata.name }}
{{- $annotations = merge $annotations .annotations }}
{{- $_ := set $metadata "name" .name }}
{{- end }}
{{- end }}
{{- with $annotations }}{{ $_ := set $metadata "annotations" . }}{{ end }}
{{- range $subject := .object.subjects }}
{{- $_ := set $subject "namespace" (get $namespaces $subject.namespace) }}
{{- with get $accounts $subject.name }}{{ $_ := set $subject "name" .name }}{{ end }}
{{- end }}
{{- range dig "spec" "variables" list .object }}
{{- if eq .name "agentNamespace" }}{{ $_ := set . "expression" (squote $.root.Release.Namespace) }}{{ end }}
{{- if eq .name "operatorNamespace" }}{{ $_ := set . "expression" (squote $.root.Values.operator.namespace.name) }}{{ end }}
{{- end }}
{{- end }}
