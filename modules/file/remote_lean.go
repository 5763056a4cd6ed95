//go:build !full

package file

// fetch is nil, so that the linker omits an HTTP client.
var fetch getter
