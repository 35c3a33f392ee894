// Package page serves a page on the loopback that shows a cluster live: what is shown as parts of JSON, a stream of the parts that changed, and the files of the
// page, which are embedded. Whoever asks needs the token of the run, and everything is read only. The page's sources are in web, from which tools/page makes assets.
package page
