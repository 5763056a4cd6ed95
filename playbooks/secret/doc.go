// Package secret hides values that are marked as secret: [Paths] has their places in data, so that reads of them are
// known, and a [Mask] removes their texts from other texts.
package secret
