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

{{/* PodMonitor of a component. Takes root, component, namespace, values. */}}
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
    {{- with .values.podMonitor.interval }}
    interval: {{ . }}
    {{- end }}
{{- end }}
{{- end }}
