// Package secret keeps values that are marked as secret out of sight: [Paths] says where
// they stand in data, so that who reads them is known, and a [Mask] takes their texts out of
// what others print.
package secret
