list(APPEND link gemmpeak_sim)
