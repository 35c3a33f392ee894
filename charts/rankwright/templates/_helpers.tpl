{{/* Labels that select the pods of a component. */}}
{{- define "rankwright.selector" -}}
app.kubernetes.io/name: rankwright
app.kubernetes.io/component: {{ . }}
{{- end }}

{{/* Labels of an object: of all, and where a component is given of that. Takes root and component. */}}
{{- define "rankwright.labels" -}}
{{- $labels := dict
  "app.kubernetes.io/name" "rankwright"
  "app.kubernetes.io/instance" .root.Release.Name
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_") }}
{{- with .component }}{{ $_ := set $labels "app.kubernetes.io/component" . }}{{ end }}
{{- toYaml (merge $labels (default dict .more) .root.Values.commonLabels) }}
{{- end }}

{{/* Labels of the pods of a component: none that changes with the chart's version alone. Takes root, component, more. */}}
{{- define "rankwright.podLabels" -}}
{{- toYaml (merge (include "rankwright.selector" .component | fromYaml) .more .root.Values.commonLabels) }}
{{- end }}

{{/* Reference of an image. Takes root and image. */}}
{{- define "rankwright.image" -}}
{{- $name := printf "%s/%s" .root.Values.image.registry .image.repository | trimPrefix "/" }}
{{- if .image.digest }}{{ printf "%s@%s" $name .image.digest }}
{{- else }}{{ printf "%s:%s" $name (.image.tag | default .root.Values.image.tag | default .root.Chart.AppVersion) }}
{{- end }}
{{- end }}

{{/* Fields of every pod spec. Takes root, account, priority (may be empty). */}}
{{- define "rankwright.podCommon" -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .priority }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* Security contexts of pods under the Pod Security Standard `restricted`. */}}
{{- define "rankwright.restrictedPod" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}
{{- define "rankwright.restrictedContainer" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Ports and probes of agent and operator. */}}
{{- define "rankwright.endpoints" -}}
ports:
- name: metrics
  containerPort: 8080
- name: health
  containerPort: 8081
{{- if .webhook }}
- name: webhook
  containerPort: 9443
{{- end }}
livenessProbe:
  httpGet:
    path: /healthz
    port: health
  periodSeconds: 20
  timeoutSeconds: 5
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{/* Whether agents serve a vendor's devices by claims; empty where they do not. */}}
{{- define "rankwright.dra" -}}
{{- range .Values.vendors }}{{ if and .serve (eq (default "DevicePlugin" .through) "DRA") }}true{{ end }}{{ end }}
{{- end }}

{{/* What the agents' --config reads. */}}
{{- define "rankwright.agentConfig" -}}
{{- toYaml (dict "vendors" .Values.vendors) }}
{{- end }}
