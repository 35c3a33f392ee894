{{/* Vendors whose tools the helper runs, by commas; empty where there is no helper. Refuses what no helper can be. */}}
{{- define "rankwright.helperVendors" -}}
{{- $nvml := .Values.agent.nvml }}
{{- $vendors := .Values.agent.tools.vendors }}
{{- if and $nvml.enabled $nvml.runtimeClassName $vendors }}
{{- fail "agent.tools.vendors: tools of hosts need the privileged helper: remove agent.nvml.runtimeClassName, or the vendors" }}
{{- end }}
{{- if and $nvml.migMonitor (not (and $nvml.enabled $nvml.runtimeClassName)) }}
{{- fail "agent.nvml.migMonitor: is for agent.nvml.enabled with a runtimeClassName; the privileged helper sees MIG devices without it" }}
{{- end }}
{{- join "," (concat (ternary (list "nvidia") list $nvml.enabled) $vendors) }}
{{- end }}

{{/* Runtime class of the agents' pods; empty for the nodes' default. */}}
{{- define "rankwright.agentRuntimeClass" -}}
{{- with .Values.agent.nvml }}{{ if .enabled }}{{ .runtimeClassName }}{{ end }}{{ end }}
{{- end }}

{{/* Where the agent and its helper meet. */}}
{{- define "rankwright.toolsFolder" -}}/run/rankwright{{- end }}

{{/* The helper's container. Takes root. */}}
{{- define "rankwright.helperContainer" -}}
{{- $agent := .root.Values.agent }}
{{- $runtimeClass := include "rankwright.agentRuntimeClass" .root }}
- name: helper
  image: {{ include "rankwright.image" (dict "root" .root "image" $agent.helper.image) }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
  - --listen={{ include "rankwright.toolsFolder" . }}/tools.sock
  - --vendors={{ include "rankwright.helperVendors" .root }}
  {{- if not $runtimeClass }}
  - --root=/host
  {{- end }}
  - --log-level={{ $agent.logLevel }}
  {{- if $runtimeClass }}
  env:
  - name: NVIDIA_VISIBLE_DEVICES
    value: all
  - name: NVIDIA_DRIVER_CAPABILITIES
    value: utility
  {{- if $agent.nvml.migMonitor }}
  - name: NVIDIA_MIG_MONITOR_DEVICES
    value: all
  {{- end }}
  {{- end }}
  {{- if not $runtimeClass }}
  # Its default lies in /dev, which is the host's.
  terminationMessagePath: /termination-log
  {{- end }}
  {{- with $agent.helper.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsUser: 0
    runAsGroup: 0
    readOnlyRootFilesystem: true
    {{- if $runtimeClass }}
    allowPrivilegeEscalation: false
    capabilities:
      drop: [ALL]
      {{- if $agent.nvml.migMonitor }}
      add: [SYS_ADMIN]
      {{- end }}
    {{- else }}
    # A container may open the nodes of no device that it was not granted, whatever is mounted.
    privileged: true
    {{- end }}
  volumeMounts:
  - name: tools
    mountPath: {{ include "rankwright.toolsFolder" . }}
  {{- if not $runtimeClass }}
  # Drivers are mounted, and unmounted, while the helper runs.
  - name: root
    mountPath: /host
    readOnly: true
    mountPropagation: HostToContainer
  - name: dev
    mountPath: /dev
  {{- end }}
{{- end }}
