package main

var node = board{
	name: "node", title: "Node",
	about:     "One node: its devices, who holds them, how they are, and what the agent does.",
	variables: []variable{{name: "node", metric: "rankwright_device_info", label: "node", one: true}},
	rows: []row{
		{"Devices", []panel{
			{
				kind: list, title: "What it has",
				queries: []query{{expr: `max by (device, vendor, family, product, partition, uuid, pci, driver_version) (rankwright_device_info{node="$node"})`}},
			},
			{
				kind: list, title: "How they are", width: 12,
				queries: []query{{expr: `max by (device, state) (rankwright_device_health{node="$node"}) == 1`}},
			},
			{
				kind: list, title: "Who holds them", width: 12,
				queries: []query{{expr: `max by (device, namespace, pod, container, placement, replica, rank, role) (device:rankwright_holder:info{node="$node"})`}},
			},
		}},
		{"Readings", []panel{
			{kind: lines, title: "Utilization", unit: "percentunit", queries: []query{{`device:rankwright_utilization:ratio{node="$node"}`, "{{device}}"}}},
			{
				kind: lines, title: "Memory in use", unit: "bytes",
				queries: []query{{`device:rankwright_memory_used:bytes{node="$node"}`, "{{device}}"}, {`max(rankwright_device_memory_bytes{node="$node"})`, "of a device"}},
			},
			{kind: lines, title: "Temperature", unit: "celsius", queries: []query{{`device:rankwright_temperature:celsius{node="$node"}`, "{{device}}"}}},
			{kind: lines, title: "Power", unit: "watt", queries: []query{{`device:rankwright_power:watts{node="$node"}`, "{{device}}"}}},
			{
				kind: lines, title: "What the PCI link can carry now", about: "Less than its highest rate where the link was trained down, or the device sleeps.", unit: "Bps",
				queries: []query{{`max by (device) (rankwright_device_pcie_bytes_per_second{node="$node"})`, "{{device}}"}},
			},
			{
				kind: lines, title: "Changes of health in an hour",
				queries: []query{{`sum by (vendor, state, reason) (increase(rankwright_device_health_transitions_total{node="$node"}[1h]))`, "{{vendor}} {{state}} {{reason}}"}},
			},
			{
				kind: lines, title: "Errors that NVIDIA's driver told of in an hour",
				queries: []query{{`sum by (pci, type, xid) (increase(rankwright_node_agent_gpu_errors_total{node="$node"}[1h]))`, "{{pci}} {{type}} {{xid}}"}},
			},
		}},
		{"The kubelet", []panel{
			{
				kind: lines, title: "Devices offered to it", about: "Shares of a device count each.",
				queries: []query{{`sum by (resource, health) (rankwright_device_plugin_devices{node="$node"})`, "{{resource}} {{health}}"}},
			},
			{
				kind: lines, title: "Containers that it asked devices for, in an hour",
				queries: []query{{`sum by (resource, code) (increase(rankwright_device_plugin_allocations_total{node="$node"}[1h]))`, "{{resource}} {{code}}"}},
			},
			{
				kind: list, title: "Resources that it takes", about: "1 where the resource is registered and the kubelet listens.", width: 8, value: "takes",
				queries: []query{{expr: `max by (resource) (rankwright_device_plugin_serving{node="$node"})`}},
			},
			{
				kind: list, title: "Devices that pods hold and nothing names", about: "Other plugins' names that tell nothing: plans count these devices as free.", width: 8, value: "devices",
				queries: []query{{expr: `max by (resource) (rankwright_node_agent_unknown_allocated_devices{node="$node"})`}},
			},
			{
				kind: lines, title: "Questions who holds what, in an hour", width: 8,
				queries: []query{{`sum by (result) (increase(rankwright_node_agent_pod_resources_requests_total{node="$node"}[1h]))`, "{{result}}"}},
			},
		}},
		{"The agent", []panel{
			{kind: list, title: "Build", width: 8, queries: []query{{expr: `max by (version, goversion) (rankwright_node_agent_build_info{node="$node"})`}}},
			{
				kind: list, title: "What its backends found", width: 8,
				queries: []query{{expr: `max by (backend, state) (rankwright_node_agent_backend_state{node="$node"}) == 1`}},
			},
			{
				kind: list, title: "Events that it watches for", about: "0 where it cannot: devices are then found with the period.", width: 8, value: "watched",
				queries: []query{{expr: `max by (source) (rankwright_node_agent_event_source_up{node="$node"})`}},
			},
			{
				kind: lines, title: "Time of a detection", unit: "s",
				queries: []query{{`sum by (backend) (rate(rankwright_node_agent_detect_duration_seconds_sum{node="$node"}[1h])) / sum by (backend) (rate(rankwright_node_agent_detect_duration_seconds_count{node="$node"}[1h]))`, "{{backend}}"}},
			},
			{
				kind: lines, title: "Detections in an hour, by what asked for them",
				queries: []query{{`sum by (trigger) (increase(rankwright_node_agent_scans_total{node="$node"}[1h]))`, "{{trigger}}"}},
			},
			{
				kind: lines, title: "Publications in an hour",
				queries: []query{{`sum by (result) (increase(rankwright_node_agent_publish_total{node="$node"}[1h]))`, "{{result}}"}},
			},
			{
				kind: lines, title: "Age of the last detection", unit: "s",
				queries: []query{{`time() - max(rankwright_node_agent_last_scan_timestamp_seconds{node="$node"})`, "age"}},
			},
			{
				kind: lines, title: "Processor time", unit: "percentunit",
				queries: []query{{`rate(process_cpu_seconds_total[$__rate_interval]) and on (instance) rankwright_node_agent_build_info{node="$node"}`, "of one processor"}},
			},
			{
				kind: lines, title: "Memory", unit: "bytes",
				queries: []query{{`process_resident_memory_bytes and on (instance) rankwright_node_agent_build_info{node="$node"}`, "resident"}},
			},
		}},
	},
}
