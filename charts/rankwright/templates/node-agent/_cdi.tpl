{{/* Refuses what would give containers a GPU of NVIDIA's and no libcuda, and taints that nobody would ever set. */}}
{{- define "rankwright.checkVendors" -}}
{{- range $name, $vendor := .Values.vendors }}
{{- if and (ne $name "nvidia") (or $vendor.userLibraries $vendor.imexChannels) }}
{{- fail (printf "vendors.%s: userLibraries and imexChannels are for nvidia alone: leave them out" $name) }}
{{- end }}
{{- if and (eq (default "" $vendor.unhealthyTaint) "NoExecute") (not $.Values.operator.repair.enabled) }}
{{- fail (printf "vendors.%s.unhealthyTaint: NoExecute waits for the operator to say that a device's ranks have left: set operator.repair.enabled, or take NoSchedule" $name) }}
{{- end }}
{{- end }}
{{- $nvidia := default dict .Values.vendors.nvidia }}
{{- if and $nvidia.serve (not $nvidia.userLibraries) }}
{{- if eq $nvidia.injection "DeviceNodes" }}
{{- fail "vendors.nvidia: injection DeviceNodes gives containers no libcuda: take CDI, or say in userLibraries who brings it, Runtime or Image" }}
{{- end }}
{{- if and (not $nvidia.cdiKind) (or (not .Values.agent.nvml.enabled) .Values.agent.nvml.runtimeClassName) }}
{{- fail "vendors.nvidia: injection CDI needs the privileged helper, which finds the driver's libraries: set agent.nvml.enabled without a runtimeClassName, or cdiKind to the kind of the hosts' own specification (nvidia.com/gpu)" }}
{{- end }}
{{- end }}
{{- if and .Values.agent.cdiHook.path .Values.agent.cdiHook.installTo }}
{{- fail "agent.cdiHook: path is for a program that is there, installTo for one that is not: remove one of the two" }}
{{- end }}
{{- end }}

{{/* Whether a vendor's own CDI specification is read; empty where none is. */}}
{{- define "rankwright.hostsOwnCDI" -}}
{{- range .Values.vendors }}{{ if and .serve .cdiKind }}true{{ end }}{{ end }}
{{- end }}
