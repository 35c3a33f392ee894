{{/* Pod spec of an errand: one run of an image. Takes root, name, account, image, args. */}}
{{- define "rankwright.errand" -}}
{{- include "rankwright.podCommon" . }}
restartPolicy: Never
nodeSelector:
  kubernetes.io/os: linux
tolerations:
- operator: Exists
securityContext:
  {{- include "rankwright.restrictedPod" . | nindent 2 }}
containers:
- name: {{ .name }}
  image: {{ include "rankwright.image" (dict "root" .root "image" .image) }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
  {{- toYaml .args | nindent 2 }}
  resources:
    requests:
      cpu: 10m
      memory: 64Mi
    limits:
      memory: 256Mi
  securityContext:
    {{- include "rankwright.restrictedContainer" . | nindent 4 }}
{{- end }}
