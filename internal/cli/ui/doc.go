// Package ui is the command ui: where the page's facts come from, and what its planner is asked. The page itself is package page.
package ui
