{{/* NetworkPolicy of a component. Takes root, component, namespace, values. */}}
{{- define "rankwright.networkPolicy" -}}
{{- if .values.networkPolicy.enabled }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: rankwright-{{ .component }}
  namespace: {{ .namespace }}
  labels:
    {{- include "rankwright.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "rankwright.selector" .component | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
  - ports:
    - port: health
  {{- if dig "webhook" "enabled" false .values }}
  - ports:
    - port: webhook
  {{- end }}
  - ports:
    - port: metrics
    {{- with .values.networkPolicy.metricsFrom }}
    from:
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end }}

{{/* PodMonitor of a component, with a service account and its token, which Prometheus reads metrics by. Takes root, component, namespace, values. */}}
{{- define "rankwright.podMonitor" -}}
{{- if .values.podMonitor.enabled }}
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: rankwright-{{ .component }}
  namespace: {{ .namespace }}
  labels:
    {{- include "rankwright.labels" (dict "root" .root "component" .component "more" .values.podMonitor.labels) | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "rankwright.selector" .component | nindent 6 }}
  podMetricsEndpoints:
  - port: metrics
    path: /metrics
    # The namespace of a mesh or a pod is the one that the metric tells of, not the scraped pod's.
    honorLabels: true
    {{- if .root.Values.metrics.authentication }}
    scheme: https
    # Each pod signs a certificate of its own.
    tlsConfig:
      insecureSkipVerify: true
    authorization:
      credentials:
        name: rankwright-metrics-reader
        key: token
    {{- end }}
    {{- with .values.podMonitor.interval }}
    interval: {{ . }}
    {{- end }}
{{- if .root.Values.metrics.authentication }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: rankwright-metrics-reader
  namespace: {{ .namespace }}
  labels:
    {{- include "rankwright.labels" . | nindent 4 }}
automountServiceAccountToken: false
---
apiVersion: v1
kind: Secret
metadata:
  name: rankwright-metrics-reader
  namespace: {{ .namespace }}
  labels:
    {{- include "rankwright.labels" . | nindent 4 }}
  annotations:
    kubernetes.io/service-account.name: rankwright-metrics-reader
type: kubernetes.io/service-account-token
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: rankwright-metrics-reader-of-{{ .component }}
  labels:
    {{- include "rankwright.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: rankwright-metrics-reader
subjects:
- kind: ServiceAccount
  name: rankwright-metrics-reader
  namespace: {{ .namespace }}
{{- end }}
{{- end }}
{{- end }}
