// Package sizing is the commands about one model and no cluster: model, estimate, cost and train.
package sizing
