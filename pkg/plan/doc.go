// Package plan decides which devices of a cluster hold which layers of a model, or says in numbers why none can. It is
// pure: it reads no clock, calls no API and draws no random number, so the same input gives the same bytes whatever the
// order in which nodes and devices are listed.
//
// A plan is sought in a fixed order, and the first one that holds all copies is taken:
//
//  1. one device a copy: the smallest that fits, then the one with the least memory left, then by name;
//  2. one tensor group a copy, in one link domain, or on one PCIe host up to hostTensorLimit devices: the smallest degree
//     that fits;
//  3. a pipeline over devices of one vendor, whose stages may be tensor groups: fewest devices, then the widest tensor
//     groups, then the fewest nodes.
//
// With automatic quantization the order is gone through in 16 bits first, then in 8, then in 4.
package plan
