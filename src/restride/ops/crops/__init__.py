"""Crops: many boxes of images resized at once, from the arguments of ``rs.crop_resize`` to its dispatches."""
