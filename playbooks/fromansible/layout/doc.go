// Package layout holds the resources of manifests that are made, and lays them out in YAML as people do.
package layout
