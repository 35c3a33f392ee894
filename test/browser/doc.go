// Package browser drives the plugin's page in headless Chromium: what it shows is held to what the commands print, how fast it is to its bars, and the
// pictures of the documents are taken here. Without a Chromium the tests are skipped, and say so.
package browser
