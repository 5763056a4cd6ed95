// Package yamlnode makes and reads nodes of YAML: texts with the quotes that they need, booleans of YAML 1.1.
package yamlnode
