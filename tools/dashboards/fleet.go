package main

var fleet = board{
	name: "fleet", title: "Fleet",
	about:     "What there is, who has it, what is idle and what that costs, and what waits.",
	variables: []variable{{name: "vendor", metric: "rankwright_device_info", label: "vendor"}},
	rows: []row{
		{"Now", []panel{
			{kind: number, title: "Devices", queries: []query{{expr: `sum(max by (vendor, health, holder) (rankwright_devices{vendor=~"$vendor"}))`}}},
			{
				kind: number, title: "Held", about: "By a plan, or by a pod without one.", unit: "percentunit",
				queries: []query{{expr: `sum(max by (vendor, health, holder) (rankwright_devices{vendor=~"$vendor", holder!="none"})) / sum(max by (vendor, health, holder) (rankwright_devices{vendor=~"$vendor"}))`}},
			},
			{
				kind: number, title: "Not healthy", about: "Unhealthy takes no work, Degraded works with less, of Unknown nobody knows.",
				queries: []query{{expr: `sum(max by (vendor, health, holder) (rankwright_devices{vendor=~"$vendor", health!="Healthy"})) or 0 * sum(rankwright_devices{vendor=~"$vendor"})`}},
			},
			{
				kind: number, title: "Idle devices cost an hour", about: "Whole devices that no plan and no pod holds, at the cheapest list price of their product; products without a price count nothing.", unit: "currencyUSD",
				queries: []query{{expr: `sum(device:rankwright_price:dollars_per_hour{vendor=~"$vendor"} and on (node, device) device:rankwright_free:info) or 0 * count(device:rankwright_price:dollars_per_hour{vendor=~"$vendor"})`}},
			},
			{
				kind: number, title: "Placements without a plan",
				queries: []query{{expr: `sum(max by (placed, ready, reason) (rankwright_placements{placed="False"})) or 0 * sum(rankwright_placements)`}},
			},
			{
				kind: number, title: "Placements that run as planned",
				queries: []query{{expr: `sum(max by (placed, ready, reason) (rankwright_placements{ready="True"})) or 0 * sum(rankwright_placements)`}},
			},
		}},
		{"Who has what", []panel{
			{
				kind: lines, title: "Devices by who holds them",
				queries: []query{{`sum by (holder) (max by (vendor, health, holder) (rankwright_devices{vendor=~"$vendor"}))`, "{{holder}}"}},
			},
			{
				kind: lines, title: "Devices by health",
				queries: []query{{`sum by (health) (max by (vendor, health, holder) (rankwright_devices{vendor=~"$vendor"}))`, "{{health}}"}},
			},
			{
				kind: list, title: "Which pod has which device", about: "By what the kubelets say, with the rank that a plan gave the device. A row without a pod is planned and not taken, one without a placement is taken without a plan.",
				queries: []query{{expr: `device:rankwright_holder:info * on (node, device) group_left (vendor, product) max by (node, device, vendor, product) (rankwright_device_info{vendor=~"$vendor"})`}},
			},
		}},
		{"What is idle", []panel{
			{
				kind: list, title: "Devices that nobody holds", about: "No plan and no pod.", width: 12,
				queries: []query{{expr: `device:rankwright_free:info{vendor=~"$vendor"}`}},
			},
			{
				kind: list, title: "What they cost an hour", about: "Whole devices alone, and products of which a list price is known.", width: 12, unit: "currencyUSD", value: "dollars an hour",
				queries: []query{{expr: `sum by (vendor, product) (device:rankwright_price:dollars_per_hour{vendor=~"$vendor"} and on (node, device) device:rankwright_free:info)`}},
			},
			{
				kind: list, title: "Held, and not computing for half an hour", about: "Below 1 % in every reading. Without a reading nothing is said.", unit: "percentunit", value: "at most",
				queries: []query{{expr: `(max_over_time(device:rankwright_utilization:ratio{vendor=~"$vendor"}[30m]) < 0.01) * on (node, device) group_right () (device:rankwright_holder:info{pod!=""} * 0 + 1)`}},
			},
		}},
		{"What waits", []panel{
			{
				kind: list, title: "Placements without a plan, and why", unit: "s", value: "for",
				queries: []query{{expr: `time() - max by (namespace, placement, reason) (rankwright_placement_condition_since_timestamp_seconds{condition="Placed", status="False"})`}},
			},
			{
				kind: list, title: "Placements with a plan whose pods do not run as planned, and why", unit: "s", value: "for",
				queries: []query{{expr: `time() - max by (namespace, placement, reason) (rankwright_placement_condition_since_timestamp_seconds{condition="Ready", status="False"}) and on (namespace, placement) rankwright_placement_condition_since_timestamp_seconds{condition="Placed", status="True"}`}},
			},
		}},
		{"What it does", []panel{
			{
				kind: lines, title: "Utilization by vendor", about: "The mean of devices that show one, by the agent or the vendor's own exporter.", unit: "percentunit",
				queries: []query{{`avg by (vendor) (device:rankwright_utilization:ratio{vendor=~"$vendor"})`, "{{vendor}}"}},
			},
			{
				kind: lines, title: "Memory in use by product", about: "Of what work can use, on devices that show it.", unit: "percentunit",
				queries: []query{{`avg by (product) (device:rankwright_memory_used:bytes{vendor=~"$vendor"} / on (node, device) group_left () max by (node, device) (rankwright_device_memory_bytes))`, "{{product}}"}},
			},
			{
				kind: lines, title: "Power by vendor", unit: "watt",
				queries: []query{{`sum by (vendor) (device:rankwright_power:watts{vendor=~"$vendor"})`, "{{vendor}}"}},
			},
			{
				kind: lines, title: "Hottest device by product", unit: "celsius",
				queries: []query{{`max by (product) (device:rankwright_temperature:celsius{vendor=~"$vendor"})`, "{{product}}"}},
			},
		}},
		{"What is not well", []panel{
			{
				kind: list, title: "Devices that are not healthy",
				queries: []query{{expr: `max by (node, device, vendor, state) (rankwright_device_health{vendor=~"$vendor", state!="Healthy"}) == 1`}},
			},
			{
				kind: list, title: "Backends that could not look", about: "What these nodes have of the backend's devices is not known.", width: 12,
				queries: []query{{expr: `max by (node, backend, state) (rankwright_node_agent_backend_state{state=~"Failed|Degraded"}) == 1`}},
			},
			{
				kind: list, title: "Oldest detections", about: "Agents look every five minutes unless configured otherwise.", width: 12, unit: "s", value: "age",
				queries: []query{{expr: `topk(10, time() - max by (node) (rankwright_node_agent_last_scan_timestamp_seconds))`}},
			},
		}},
	},
}
