package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRunRefusesNestedManifests(t *testing.T) {
	_, _, err := readResource(t.Context(), []byte(`{"type":"apply","properties":{"name":"web"}}`))
	require.EqualError(t, err, "a resource of type apply is for manifests: a controller puts what it applies in its place")
}
