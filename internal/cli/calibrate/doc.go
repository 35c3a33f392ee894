// Package calibrate is the command that reads what was measured at a site and keeps it in a SiteCalibration.
package calibrate
