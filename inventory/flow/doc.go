// Package flow writes YAML in its flow style, on one line, so that yamlpos reads the
// same back.
package flow
