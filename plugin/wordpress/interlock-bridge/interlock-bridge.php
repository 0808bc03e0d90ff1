<?php
/**
 * Plugin Name:       Interlock Bridge
 * Description:       Sends an administrator's instruction to your Interlock gateway, which decides what may be called, and shows the answer.
 * Version:           0.1.0
 * Requires at least: 6.8
 * Requires PHP:      7.4
 * Author:            The Interlock authors
 * License:           GPL-2.0-or-later
 * License URI:       https://www.gnu.org/licenses/gpl-2.0.html
 * Text Domain:       interlock-bridge
 * Domain Path:       /languages
 *
 * The server of this site speaks with the gateway; a browser never does. Each
 * call carries a token of its own, signed with a private key that lies in a
 * file outside the web root, and no token, key or raw answer reaches a page.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

define( 'INTERLOCK_BRIDGE_VERSION', '0.1.0' );
define( 'INTERLOCK_BRIDGE_FILE', __FILE__ );

require_once __DIR__ . '/includes/address.php';
require_once __DIR__ . '/includes/settings.php';
require_once __DIR__ . '/includes/key.php';
require_once __DIR__ . '/includes/token.php';
require_once __DIR__ . '/includes/abn.php';
require_once __DIR__ . '/includes/permit.php';
require_once __DIR__ . '/includes/envelope.php';
require_once __DIR__ . '/includes/answer.php';
require_once __DIR__ . '/includes/messages.php';
require_once __DIR__ . '/includes/client.php';
require_once __DIR__ . '/includes/ask.php';
require_once __DIR__ . '/includes/form.php';
require_once __DIR__ . '/includes/ask-page.php';
require_once __DIR__ . '/includes/settings-page.php';
require_once __DIR__ . '/includes/menu.php';
require_once __DIR__ . '/includes/privacy.php';
require_once __DIR__ . '/includes/ability.php';

add_action( 'admin_init', 'interlock_bridge_register_settings' );
add_action( 'admin_init', 'interlock_bridge_add_privacy_text' );
add_action( 'admin_menu', 'interlock_bridge_add_menu' );
add_filter( 'plugin_action_links_' . plugin_basename( INTERLOCK_BRIDGE_FILE ), 'interlock_bridge_add_settings_link' );
add_action( 'admin_enqueue_scripts', 'interlock_bridge_enqueue' );
add_action( 'admin_post_interlock_bridge_ask', 'interlock_bridge_handle_form' );
add_action( 'wp_abilities_api_categories_init', 'interlock_bridge_register_ability_category' );
add_action( 'wp_abilities_api_init', 'interlock_bridge_register_ability' );
